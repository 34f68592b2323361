import "./styles/panel.css";
